-- A refund names the payment that it gives back, so nobody keeps what each payer paid at each address.
DROP TABLE activity_buyers;
